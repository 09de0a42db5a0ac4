"""The simulated OneTalk page: a web page to observe, and the ledger of what it showed.

The corpus is the truth, the dialects are the spellings in which the page serves it, and
the ledger says what an extension has to have stored. It knows nothing of the extension.
"""
