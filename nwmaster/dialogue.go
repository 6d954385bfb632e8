package nwmaster

import (
	"github.com/respawnd/respawnd/internal/dialogue"
	"github.com/respawnd/respawnd/internal/nwn"
)

// dialogueOf returns what recordings must know. An answer has the same form for every password and
// every key.
func dialogueOf() dialogue.Protocol {
	return dialogue.Protocol{Blot: blot, Secret: dialogue.Never, Shape: dialogue.Leading(nwn.LettersLen)}
}

// blot overwrites hashes of passwords, keys, and messages whose layout is not known.
func blot(b []byte) {
	kind, rest, ok := nwn.Cut(b)
	if !ok {
		dialogue.Overwrite(b)
		return
	}
	var secrets [][]byte
	var err error
	switch kind {
	case nwn.Account:
		var c nwn.AccountCheck
		c, err = nwn.ParseAccount(rest)
		secrets = [][]byte{c.Hash}
	case nwn.Keys:
		var c nwn.KeyCheck
		c, err = nwn.ParseKeys(rest)
		for _, k := range c.Keys {
			secrets = append(secrets, k.Public, k.Hash)
		}
	case nwn.KeysAnswer:
		var results []nwn.KeyResult
		results, err = nwn.ParseKeysAnswer(rest)
		for _, r := range results {
			secrets = append(secrets, r.Public)
		}
	case nwn.NewAccount, nwn.Friends:
		secrets = [][]byte{rest}
	default:
	}
	if err != nil {
		secrets = [][]byte{rest}
	}
	for _, s := range secrets {
		dialogue.Overwrite(s)
	}
}
