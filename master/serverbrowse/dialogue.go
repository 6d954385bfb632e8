package serverbrowse

import "encoding/binary"

// split is dialogue.Protocol.Split. Lists are enciphered and have no messages.
func split(said bool, b []byte) int {
	if said {
		return len(b)
	}
	if len(b) < 2 {
		return 0
	}
	n := int(binary.BigEndian.Uint16(b))
	if n < minMessage || n > maxMessage {
		return len(b) // the service ends the connection
	}
	if len(b) < n {
		return 0
	}
	return n
}
