package daemon

import (
	"fmt"
	"net"
	"strings"
)

// notifier reports the state of the daemon to the service manager, in the protocol of
// systemd: datagrams of NAME=VALUE lines to a socket that it names in the
// environment. The zero value reports nothing.
type notifier struct {
	socket string
}

// States that are reported.
const (
	notifyReady     = "READY=1"
	notifyReloading = "RELOADING=1"
	notifyStopping  = "STOPPING=1"
)

// NotifySocket returns the socket of the service manager that an environment
// names, empty if there is none. A name that begins with @ is an abstract
// socket of Linux; package net uses the same form.
func NotifySocket(env []string) string {
	const variable = "NOTIFY_SOCKET="
	for _, e := range env {
		if name, ok := strings.CutPrefix(e, variable); ok {
			return name
		}
	}
	return ""
}

// send sends a state and a line for people, which must hold no line break.
func (n notifier) send(state, status string) error {
	if n.socket == "" {
		return nil
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: n.socket, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("NOTIFY_SOCKET: %w", err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write([]byte(state + "\nSTATUS=" + status + "\n")); err != nil {
		return fmt.Errorf("NOTIFY_SOCKET: %w", err)
	}
	return nil
}
