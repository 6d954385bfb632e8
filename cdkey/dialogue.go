package cdkey

import "github.com/respawnd/respawnd/internal/dialogue"

// dialogueOf returns what recordings must know. The hash of a key is as good as the key.
func dialogueOf() dialogue.Protocol {
	return dialogue.Pairs("resp", "response", "reqproof", "proof", "cd", "pcrs").Ciphered(crypt)
}
