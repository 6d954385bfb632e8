// Package nettest helps to test what speaks over UDP and TCP: a [Recorder] of
// what a service sends, [Pipes] that are connections in memory, an [Attack] as
// services meet it on the internet, a [Child] process whose processor time is
// measured, and a [World] of networks in the kernel.
//
// It is for tests and benchmarks alone, and knows no protocol.
package nettest
