// What the compiler leaves behind: migrations, what a thread starts from, and the mode that lets the command be executed.
import { chmodSync, cpSync, rmSync } from 'node:fs'

rmSync('dist/src/storage/migrations', { recursive: true, force: true })
cpSync('src/storage/migrations', 'dist/src/storage/migrations', { recursive: true })
cpSync('src/storage/sqlite-thread.mjs', 'dist/src/storage/sqlite-thread.mjs')
chmodSync('dist/cli/main.js', 0o755)
