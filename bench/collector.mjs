// Loaded before the service by `npm run bench -- soak`: SIGUSR2 collects garbage, so that what is left can be counted.
process.on('SIGUSR2', () => globalThis.gc())
