-- Makes the application's role and its database, when the container's volume is new. The role owns
-- the database and nothing else. The superuser is left without a password: it comes in by the
-- container's own socket alone, docker compose exec postgres psql -U postgres.
\getenv password POSTGRES_PASSWORD
CREATE ROLE queuekit LOGIN PASSWORD :'password';
CREATE DATABASE queuekit OWNER queuekit;
ALTER ROLE postgres PASSWORD NULL;
