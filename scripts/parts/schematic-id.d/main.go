// Prints how Image Factory's own package treats schematics: a JSON object for each file.
package main

import (
	"encoding/json"
	"os"

	"github.com/siderolabs/image-factory/pkg/schematic"
)

type answer struct {
	ID        string `json:"id"`
	Canonical string `json:"canonical"`
	// ReadsBack: the package reads the canonical text as the same schematic.
	ReadsBack bool   `json:"reads_back"`
	Error     string `json:"error,omitempty"`
}

func judge(data []byte) (result answer, err error) {
	parsed, err := schematic.Unmarshal(data)
	if err != nil {
		return result, err
	}
	canonical, err := parsed.Marshal()
	if err != nil {
		return result, err
	}
	result.Canonical = string(canonical)
	if result.ID, err = parsed.ID(); err != nil {
		return result, err
	}
	if again, err := schematic.Unmarshal(canonical); err == nil {
		id, err := again.ID()
		result.ReadsBack = err == nil && id == result.ID
	}
	return result, nil
}

func main() {
	for _, path := range os.Args[1:] {
		data, err := os.ReadFile(path)
		var result answer
		if err == nil {
			result, err = judge(data)
		}
		if err != nil {
			result.Error = err.Error()
		}
		if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
			panic(err)
		}
	}
}
