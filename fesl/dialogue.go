package fesl

import (
	"net"

	"github.com/respawnd/respawnd/fesl/wire"
	"github.com/respawnd/respawnd/internal/dialogue"
	"github.com/respawnd/respawnd/internal/netserve"
)

// dialogueOf returns what recordings must know. The challenge of a ticket and the numbers of a
// computer are as good as the ticket; the rest says who the player is, or what players write.
func dialogueOf() dialogue.Protocol {
	secret := map[string]bool{
		"password": true, "encryptedinfo": true, "encryptedlogininfo": true, "lkey": true, "ticket": true, "challenge": true,
		"key": true, "code": true, "macaddr": true, "machineid": true, "consoleid": true, "telemetrytoken": true,
		"email": true, "parentalemail": true, "dobday": true, "dobmonth": true, "dobyear": true, "zipcode": true,
		"body": true, "subject": true, "data": true,
	}
	return dialogue.Protocol{
		Split: func(_ bool, b []byte) int { return wire.Length(b) },
		Blot:  func(b []byte) { wire.Blot(b, func(key string) bool { return secret[key] }, dialogue.Overwrite) },
		Shape: wire.Shape,
	}
}

// tapped is a connection whose plain text a recording takes.
type tapped struct {
	net.Conn
	raw *netserve.Conn
}

// Read implements net.Conn.
func (t *tapped) Read(b []byte) (int, error) {
	n, err := t.Conn.Read(b)
	if n > 0 {
		t.raw.Heard(b[:n])
	}
	return n, err
}

// Write implements net.Conn.
func (t *tapped) Write(b []byte) (int, error) {
	t.raw.Said(b)
	return t.Conn.Write(b)
}
