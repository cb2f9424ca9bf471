-- Purpose: a role that may look and nothing else.
-- Parameters: none; its name is put in.
CREATE ROLE {role} LOGIN
