package zanmaster

import (
	"github.com/respawnd/respawnd/internal/dialogue"
	"github.com/respawnd/respawnd/internal/zandronum"
)

// dialogueOf returns what recordings must know. The datagrams have no secrets, but are coded.
func dialogueOf() dialogue.Protocol {
	p := dialogue.Public(dialogue.Leading(1))
	p.Plain = func(b []byte) []byte { return zandronum.Decode(nil, b, 1<<16) }
	p.Wire = func(b []byte) []byte { return zandronum.Encode(nil, b) }
	return p
}
