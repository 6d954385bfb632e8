package theater

import (
	"slices"

	"github.com/respawnd/respawnd/fesl/wire"
	"github.com/respawnd/respawnd/internal/dialogue"
)

// dialogueOf returns what recordings must know. EKEY, SECRET and TICKET let a player into a game.
func dialogueOf() dialogue.Protocol {
	secret := []string{"lkey", "mac", "cid", "ticket", "ekey", "secret", "password", "b-u-password"}
	return dialogue.Protocol{
		Split: func(_ bool, b []byte) int { return wire.Length(b) },
		Blot: func(b []byte) {
			wire.Blot(b, func(key string) bool { return slices.Contains(secret, key) }, dialogue.Overwrite)
		},
		Shape: wire.Shape,
	}
}
