"""The crash matrix: real processes, killed by SIGKILL at each fault point (MS-40)."""
