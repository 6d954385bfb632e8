// Package qrsvg draws QR codes as paths of SVG. It is not for what stands around them.
package qrsvg

import (
	"strconv"

	"rsc.io/qr"
)

// Quiet is the number of light modules around a code.
const Quiet = 4

// MaxText is a number of bytes that always fit into a code.
const MaxText = 300

// Draw returns the path of the dark modules of a text's code, a rectangle for each run of them, and the
// length of the code's side in modules, with the light ones around it. The error reports a text that is too long.
func Draw(text string) (path []byte, side int, err error) {
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		return nil, 0, err
	}
	for y := range code.Size {
		for x := 0; x < code.Size; {
			run := x
			for run < code.Size && code.Black(run, y) {
				run++
			}
			if n := run - x; n > 0 {
				path = append(path, "M"+strconv.Itoa(x+Quiet)+" "+strconv.Itoa(y+Quiet)+"h"+strconv.Itoa(n)+"v1h-"+strconv.Itoa(n)+"z"...)
			}
			x = run + 1
		}
	}
	return path, code.Size + 2*Quiet, nil
}
