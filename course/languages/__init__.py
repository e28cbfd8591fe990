"""What turns a kernel of any language into PTX, and PTX into machine code (SASS). No GPU is needed."""
