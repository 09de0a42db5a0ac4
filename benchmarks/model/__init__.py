"""What the model of IndexedDB costs, beside fake-indexeddb on Node."""
