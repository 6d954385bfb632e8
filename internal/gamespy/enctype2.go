package gamespy

import (
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"math/bits"
)

// Enctype2Key is the usual length in bytes of the random key of a list of
// enctype 2. The key must not be shorter than the secret that hides it.
const Enctype2Key = 13

// maxEnctype2Key is the longest key that the header has room for.
const maxEnctype2Key = 255

// enctype2Length hides the length of the key.
const enctype2Length = 0xEC

// ErrListHeader reports that an encoded list does not begin with a valid
// header.
var ErrListHeader = errors.New("gamespy: bad header of an encoded list")

// AppendEnctype2Header appends the header of a list of enctype 2: the length of
// key and key itself, masked with secret. The list follows, run through a
// [TreeCipher] of key. It panics if key is longer than 255 bytes.
func AppendEnctype2Header(dst []byte, secret string, key []byte) []byte {
	if len(key) > maxEnctype2Key {
		panic("gamespy: key of enctype 2 is too long")
	}
	dst = append(dst, byte(len(key))^enctype2Length)
	start := len(dst)
	dst = append(dst, key...)
	hideKey(dst[start:], secret)
	return dst
}

// ParseEnctype2Header is the inverse of [AppendEnctype2Header]. body is the
// part of b after the header; the caller owns key. The error is
// [ErrListHeader].
func ParseEnctype2Header(b []byte, secret string) (key, body []byte, err error) {
	if len(b) == 0 {
		return nil, nil, ErrListHeader
	}
	n := int(b[0] ^ enctype2Length)
	if n == 0 || n < len(secret) || len(b) < 1+n {
		return nil, nil, ErrListHeader
	}
	key = append([]byte(nil), b[1:1+n]...)
	hideKey(key, secret)
	return key, b[1+n:], nil
}

func hideKey(key []byte, secret string) {
	for i := range min(len(key), len(secret)) {
		key[i] ^= secret[i]
	}
}

// TreeCipher is the key stream of list enctype 2 and of one layer of enctype 1.
// The stream comes from a walk through a binary tree of depth 16, whose leaves
// give a word each; a table made from the key determines the children of a
// node. The stream does not depend on the data, so the same call encrypts and
// decrypts. A TreeCipher is a plain value: copying it forks the stream. It may
// be used by one goroutine at a time. Use [NewTreeCipher]; the zero value is
// not valid.
type TreeCipher struct {
	table [256]uint32
	node  treeNode
	stack [treeDepth]treeNode // nodes whose right half is still to come
	depth int
	block [treeBlock]byte
	used  int // bytes of block already used
}

// treeNode is a node of the tree: two state words, and its number, by which
// the root is 1 and the children of n are 2n and 2n+1.
type treeNode struct{ x, y, z uint32 }

const (
	treeDepth = 16
	treeLeaf  = 1 << treeDepth // numbers from here on are leaves
	treeWords = 16             // that are made at once
	treeBlock = 4 * treeWords
	// treeUseful is how much of a block is used: the last byte never is.
	treeUseful = treeBlock - 1
)

// NewTreeCipher returns the start state for key, of any length. An empty key
// counts as one zero byte.
func NewTreeCipher(key []byte) TreeCipher {
	if len(key) == 0 {
		key = []byte{0}
	}
	c := TreeCipher{node: treeNode{z: 1}, used: treeUseful}
	for round := range 4 {
		for i := range c.table {
			c.table[i] = c.table[i]<<8 + uint32(i)
		}
		j := uint8(round)
		for range 2 {
			k := 0
			for i := range c.table {
				j += key[k] + uint8(c.table[i])
				c.table[i], c.table[j] = c.table[j], c.table[i]
				if k++; k == len(key) {
					k = 0
				}
			}
		}
	}
	for i := range c.table {
		c.table[i] ^= uint32(i)
	}
	return c
}

// XOR scrambles src into dst, or back, and advances the state. Consecutive
// calls continue one stream, wherever it was cut. dst and src must be the same
// memory or not overlap at all. XOR panics if dst is shorter than src.
func (c *TreeCipher) XOR(dst, src []byte) {
	dst = dst[:len(src):len(dst)]
	for len(src) > 0 {
		if c.used == treeUseful {
			c.refill()
		}
		n := subtle.XORBytes(dst, src, c.block[c.used:treeUseful])
		c.used += n
		dst, src = dst[n:], src[n:]
	}
}

// refill makes the next block of the key stream.
func (c *TreeCipher) refill() {
	n, depth := c.node, c.depth
	for i := range treeWords {
		for n.z < treeLeaf {
			n.x += n.z
			n.y += n.x
			n.x += n.y
			c.stack[depth&(treeDepth-1)] = n
			depth++
			n = c.left(n)
		}
		binary.LittleEndian.PutUint32(c.block[4*i:], n.x^n.y)
		// After the last leaf the lowest slot is used again, as in the
		// original, for lists of more than 252 KiB.
		depth = max(depth-1, 0)
		n = c.right(c.stack[depth&(treeDepth-1)])
	}
	c.node, c.depth, c.used = n, depth, 0
}

func (c *TreeCipher) left(n treeNode) treeNode {
	x, y := n.x, bits.RotateLeft32(n.y, -8)
	x ^= c.table[x&0xFF]
	y ^= c.table[y&0xFF]
	x, y = bits.RotateLeft32(x, 8), bits.RotateLeft32(y, -8)
	x ^= c.table[x&0xFF]
	y ^= c.table[y&0xFF]
	return treeNode{bits.RotateLeft32(x, 8), y, 2 * n.z}
}

func (c *TreeCipher) right(n treeNode) treeNode {
	x, y := bits.RotateLeft32(^n.x, -8), n.y
	x ^= c.table[x&0xFF]
	y ^= c.table[y&0xFF]
	x, y = bits.RotateLeft32(x, -8), bits.RotateLeft32(y, 8)
	x ^= c.table[x&0xFF]
	y ^= c.table[y&0xFF]
	return treeNode{x, bits.RotateLeft32(y, 8), 2*n.z + 1}
}
