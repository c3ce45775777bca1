enum TranscoderPlaceholder {}
