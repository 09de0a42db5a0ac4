"""From an observation to a committed message: the contract and the group committer."""
