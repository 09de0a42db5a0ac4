"""What others' records cost a read of one account: in Chromium and in the model."""
