//go:build !linux

package pgtest

// joinShared starts a server for this test binary alone: servers are shared on Linux.
func joinShared() (*Server, error) { return newServer(&Server{at: loopback}) }
