"""The real extension's recorded lives, lived again by the model: both do the same."""
