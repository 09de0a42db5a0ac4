"""For whoever builds on Bright: what certifies a store, and doubles that misbehave.

The suites are classes whose methods a test runner finds; they import no test framework.
`state_machine` alone does: it needs Hypothesis. The extra `bright-sync[testing]` brings
it, and pytest and pytest-asyncio, which run the suites: see docs/backends.md.
"""
