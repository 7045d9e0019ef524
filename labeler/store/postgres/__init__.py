"""A store in a PostgreSQL database, which a team's machines share."""
