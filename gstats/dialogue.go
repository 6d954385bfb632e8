package gstats

import (
	"bytes"

	"github.com/respawnd/respawnd/internal/dialogue"
	"github.com/respawnd/respawnd/internal/gamespy"
)

// dialogueOf returns what recordings must know.
func dialogueOf() dialogue.Protocol {
	p := dialogue.Pairs("response", "resp", "authtoken", "proof", "keyhash", "challenge")
	return p.Ciphered(func(b []byte) { crypt(bytes.TrimSuffix(b, []byte(gamespy.Final)), 0) })
}
