package qr2

import (
	"bytes"

	"github.com/respawnd/respawnd/internal/dialogue"
)

// blot overwrites the proofs of both versions of the protocol, and datagrams of other protocols,
// which say themselves what is secret.
func blot(b []byte) {
	switch {
	case len(b) == 0, bytes.HasPrefix(b, []byte{0xFE, 0xFD}): // the service sent it
	case b[0] == '\\':
		dialogue.BlotPairs(b, "validate")
	case Kind(b[0]) == KindChallenge:
		dialogue.Overwrite(b[min(len(b), header):])
	case Kind(b[0]) > KindRegistered:
		dialogue.Overwrite(b)
	}
}

// shape is the type of an answer, or its keys.
func shape(b []byte) string {
	if len(b) > 0 && b[0] == '\\' {
		return dialogue.Keys(b)
	}
	return string(b[:min(len(b), 3)])
}
