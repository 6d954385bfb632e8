package utmaster

import (
	"encoding/binary"
	"regexp"

	"github.com/respawnd/respawnd/internal/dialogue"
)

// dialogueOf returns what recordings must know. Keys are not checked, so no answer depends on them.
func dialogueOf() dialogue.Protocol {
	return dialogue.Protocol{Split: split, Blot: blot, Shape: shape, Secret: dialogue.Never}
}

// split is dialogue.Protocol.Split. Longer messages than games send end the connection.
func split(_ bool, b []byte) int {
	if len(b) < frameHead {
		return 0
	}
	switch n := uint64(binary.LittleEndian.Uint32(b)); {
	case n > maxFrame:
		return len(b)
	case uint64(len(b)) < frameHead+n:
		return 0
	default:
		return frameHead + int(n)
	}
}

// digests matches those of keys and of proofs, wherever a message has them.
var digests = regexp.MustCompile(`[0-9A-Fa-f]{32,}`)

// blot overwrites digests.
func blot(b []byte) {
	for _, at := range digests.FindAllIndex(b, -1) {
		dialogue.Overwrite(b[at[0]:at[1]])
	}
}

// shape is the word of an answer to a handshake; other messages differ from day to day.
func shape(b []byte) string {
	word, _, err := parseWord(b[min(len(b), frameHead):])
	if err != nil || word != wordApproved && word != wordDenied && word != wordVerified {
		return ""
	}
	return word
}
