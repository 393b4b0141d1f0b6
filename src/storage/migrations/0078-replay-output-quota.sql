-- R70: how much a project has of what replayed calls were answered, as it is now.
INSERT INTO project_quota (project_id, kind, present)
SELECT project_id, 'replay_outputs_mib', CAST(SUM(bytes) AS BIGINT) FROM replay_output GROUP BY project_id;
