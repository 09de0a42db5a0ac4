"""Back ends of the contracts; only the composition root names one."""
