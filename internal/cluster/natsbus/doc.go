// Package natsbus is the cluster.Bus of the daemon, on NATS: its server runs inside
// each node and connects to those of the others, or an external one is used. No port
// for clients of NATS is opened.
//
// Every message carries a number of its sender, so that a receiver notices messages lost on the
// way, in a full queue or during a reconnect, within a heartbeat. A node sends a heartbeat twice a
// second; it leaves with a goodbye, or after some seconds of silence. The package knows no service
// of the daemon and keeps nothing on disk.
package natsbus
