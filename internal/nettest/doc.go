// Package nettest helps to test services over UDP and TCP: a [Recorder] of sent
// packets, [Pipes] of connections in memory, an [Attack] as on the internet, a
// [Child] process whose processor time is measured, and a [World] of networks
// in the kernel.
//
// It is for tests and benchmarks only, and knows no protocol.
package nettest
