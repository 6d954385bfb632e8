package codmaster

import (
	"github.com/respawnd/respawnd/internal/dialogue"
	"github.com/respawnd/respawnd/internal/quake3"
)

// dialogueOf returns what recordings must know. A message with a key has no answer.
func dialogueOf() dialogue.Protocol {
	p := dialogue.Public(dialogue.Word)
	p.Blot = func(b []byte) {
		if kind, rest := quake3.CutOther(b); kind == quake3.OtherKey {
			dialogue.Overwrite(rest)
		}
	}
	p.Secret = dialogue.Never
	return p
}
