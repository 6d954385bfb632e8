package idmaster

import (
	"bytes"

	"github.com/respawnd/respawnd/internal/dialogue"
	"github.com/respawnd/respawnd/internal/idtech4"
)

// dialogueOf returns what recordings must know. Every key is good.
func dialogueOf() dialogue.Protocol {
	return dialogue.Protocol{Blot: blot, Secret: dialogue.Never, Shape: func(b []byte) string {
		word, _, _ := bytes.Cut(b, []byte{0})
		return string(word)
	}}
}

// blot overwrites keys, and the names of players that are made from them.
func blot(b []byte) {
	kind, rest, ok := idtech4.Cut(b)
	if !ok {
		dialogue.Overwrite(b)
		return
	}
	var secrets [][]byte
	var err error
	switch kind {
	case idtech4.KindClAuth, idtech4.KindGameAuth:
		var k idtech4.Keys
		k, err = idtech4.ParseKeys(rest, kind == idtech4.KindGameAuth)
		secrets = [][]byte{k.Key, k.XP}
	case idtech4.KindAuthKey:
		var guid []byte
		guid, _, err = idtech4.ParseAuthKey(rest)
		secrets = [][]byte{guid}
	case idtech4.KindSrvAuth:
		var c idtech4.Check
		c, err = idtech4.ParseCheck(rest)
		secrets = [][]byte{c.GUID}
	case idtech4.KindAuth:
		var v idtech4.Verdict
		v, err = idtech4.ParseVerdict(rest)
		secrets = [][]byte{v.GUID}
	case idtech4.KindVersionCheck, idtech4.KindOther:
		secrets = [][]byte{rest} // the former has the name of the player
	default:
	}
	if err != nil {
		secrets = [][]byte{rest}
	}
	for _, s := range secrets {
		dialogue.Overwrite(s)
	}
}
