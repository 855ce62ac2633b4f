"""What happens below the SMs and how long a launch takes on a named device, from the counts of a launch."""
