"""What Bright's work costs, measured as ratios beside yardsticks of the same run."""
