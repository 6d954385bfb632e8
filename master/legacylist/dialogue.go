package legacylist

import (
	"bytes"

	"github.com/respawnd/respawnd/internal/dialogue"
)

// dialogueOf returns what recordings must know. Lists may be enciphered and have no messages.
func dialogueOf() dialogue.Protocol {
	p := dialogue.Pairs("validate")
	text := p.Split
	p.Split = func(said bool, b []byte) int {
		if said {
			return len(b)
		}
		return text(said, b)
	}
	p.Shape = func(b []byte) string {
		if !bytes.HasPrefix(b, []byte(greeting)) {
			return ""
		}
		return dialogue.Keys(b)
	}
	return p
}
