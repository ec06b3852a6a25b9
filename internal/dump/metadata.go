package dump

import (
	"fmt"

	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/ottla/ottla/log/batch"
)

// ClusterMetadata renders the records of Kafka's metadata log as JSON. They have no keys. One that can't be decoded
// is told of in its place, as the stock tool does.
func ClusterMetadata(rec *batch.Record) (Contents, error) {
	r, version, err := metadata.Read(rec.Value)
	if err != nil {
		return Contents{HasValue: true, Value: fmt.Sprintf("Error at %d, skipping. %v", rec.Offset, err)}, nil
	}
	text := fmt.Appendf(nil, `{"type":"%s","version":%d,"data":`, metadata.TypeName(r.RecordType()), version)
	return Contents{HasValue: true, Value: string(append(r.AppendJSON(text, version), '}'))}, nil
}
