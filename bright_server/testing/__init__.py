"""For whoever builds on Bright: what certifies a store, and doubles that misbehave.

It imports no test framework: the suites are classes whose methods a test runner finds.
"""
