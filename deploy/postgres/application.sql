-- Creates the application's role and its database when the container's volume is new. The role owns
-- the database and nothing else. The superuser has no password, so it can connect only from inside
-- the container: docker compose exec postgres psql -U postgres
\getenv password POSTGRES_PASSWORD
CREATE ROLE queuekit LOGIN PASSWORD :'password';
CREATE DATABASE queuekit OWNER queuekit;
ALTER ROLE postgres PASSWORD NULL;
