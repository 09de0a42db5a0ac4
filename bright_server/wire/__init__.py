"""The wire: frames as models, the codec, and the generated contract. No I/O."""
