// What the compiler leaves behind: the migrations, and the mode that lets the command be executed.
import { chmodSync, cpSync, rmSync } from 'node:fs'

rmSync('dist/src/storage/migrations', { recursive: true, force: true })
cpSync('src/storage/migrations', 'dist/src/storage/migrations', { recursive: true })
chmodSync('dist/cli/main.js', 0o755)
