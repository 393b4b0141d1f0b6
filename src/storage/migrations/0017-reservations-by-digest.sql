-- Reservations are renewed one by one, by those who hold them: nobody asks for all of a process any more.
DROP INDEX idempotency_by_process;
