-- All that is asked of the links of a chain but their contents: in the rows it stands behind those, and would be reached
-- by reading all of them. SQLite prefers the index of the primary key, which has nothing but the id, to any other that
-- begins with an id; so links are asked for by an expression that only this one has.
CREATE INDEX stored_response_links ON stored_response (project_id, CAST(id AS TEXT), id, previous_response_id, bytes,
    trace_id, made_by, made_under, parts_id, parts_bytes);
