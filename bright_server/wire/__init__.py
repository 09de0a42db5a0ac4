"""The wire: frames as models, the codec, and the contract generated from them. No I/O."""
