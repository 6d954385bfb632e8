package cluster

import "hash/fnv"

// Rendezvous returns the node that a key belongs to: the one with the highest hash of
// both. All nodes and versions compute the same, whatever the order of nodes, and if
// a node leaves only its keys move. It returns "" if there are no nodes.
func Rendezvous(key string, nodes []string) string {
	var best string
	var most uint64
	for _, node := range nodes {
		h := fnv.New64a()
		_, _ = h.Write([]byte(node))
		_, _ = h.Write([]byte{0})
		_, _ = h.Write([]byte(key))
		weight := mix(h.Sum64())
		if best == "" || weight > most || weight == most && node < best {
			best, most = node, weight
		}
	}
	return best
}

// mix spreads the bits of a hash of FNV, whose high ones depend little on the last
// bytes. It is the finalizer of MurmurHash3.
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
