package daemon

import (
	"fmt"
	"net"
	"strings"
)

// A Notify informs the service manager of a state of the daemon, with a line for people that holds
// no line break. A failure is logged and does not stop the daemon.
type Notify func(state, status string) error

// States that are reported, as systemd names them. Ready is reported again after each reload.
const (
	NotifyReady     = "READY=1"
	notifyReloading = "RELOADING=1"
	notifyStopping  = "STOPPING=1"
)

// Systemd informs systemd: datagrams of NAME=VALUE lines to the socket that an environment names,
// nil if it names none. A name that begins with @ is an abstract socket of Linux; package net uses
// the same form.
func Systemd(env []string) Notify {
	const variable = "NOTIFY_SOCKET="
	for _, e := range env {
		if name, ok := strings.CutPrefix(e, variable); ok && name != "" {
			return func(state, status string) error { return notifySystemd(name, state, status) }
		}
	}
	return nil
}

func notifySystemd(socket, state, status string) error {
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("NOTIFY_SOCKET: %w", err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write([]byte(state + "\nSTATUS=" + status + "\n")); err != nil {
		return fmt.Errorf("NOTIFY_SOCKET: %w", err)
	}
	return nil
}
