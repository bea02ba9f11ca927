"""What people are told: notices on a page, a digest by mail, a team's chat; counts and links only."""
