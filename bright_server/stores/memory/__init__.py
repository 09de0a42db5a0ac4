"""The store in memory: the reference that other stores are read beside.

It keeps every promise of the contract but one: nothing outlives the process. For tests,
for trying Bright out, and for whoever writes a store and asks what a rule means.
"""
