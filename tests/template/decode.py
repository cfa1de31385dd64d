"""Prints a CloudFormation template as JSON, with functions such as !Ref in their long form."""

import json
import sys

from cfnlint.decode import decode

template, problems = decode(sys.argv[1])
if problems:
    sys.exit("\n".join(str(problem) for problem in problems))
print(json.dumps(template))
