package odamaster

import "github.com/respawnd/respawnd/internal/dialogue"

// dialogueOf returns what recordings must know. Behind what is read of an info is, in some versions,
// the digest of the password that players need.
func dialogueOf() dialogue.Protocol {
	p := dialogue.Public(dialogue.Leading(wordSize))
	p.Blot = func(b []byte) {
		m := parse(b)
		switch i := readInfo(m.info); {
		case m.kind != information:
		case i.bad:
			dialogue.Overwrite(m.info)
		default:
			dialogue.Overwrite(i.rest)
		}
	}
	p.Secret = dialogue.Never
	return p
}
