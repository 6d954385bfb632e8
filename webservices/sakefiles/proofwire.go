package sakefiles

import (
	"encoding/binary"
	"net/netip"

	"github.com/respawnd/respawnd/storage"
)

// subjectProof is the subject of proofs that a node sends the others: a player may show
// its ticket to one node and upload to another.
//
//	offset size
//	     0    1  version, 1
//	     1    4  profile, big-endian
//	     5   16  address; IPv4 as ::ffff:a.b.c.d
//	    21    -  ticket, 1 to 512 bytes
const subjectProof = "sakefiles.proof"

const (
	proofVersion   = 1
	proofHead      = 21
	maxProofTicket = 512
)

func appendProof(dst []byte, profile storage.ProfileID, from netip.Addr, ticket string) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, proofVersion), uint32(profile))
	a := from.As16()
	return append(append(dst, a[:]...), ticket...)
}

// parseProof is the inverse of appendProof.
func parseProof(b []byte) (profile storage.ProfileID, from netip.Addr, ticket string, ok bool) {
	if len(b) <= proofHead || len(b) > proofHead+maxProofTicket || b[0] != proofVersion {
		return 0, from, "", false
	}
	profile = storage.ProfileID(binary.BigEndian.Uint32(b[1:]))
	return profile, netip.AddrFrom16([16]byte(b[5:proofHead])).Unmap(), string(b[proofHead:]), profile != 0
}
